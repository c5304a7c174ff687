-- What is read back may be anything: somebody else's write, half a write, an older layout.
-- decoded(raw): the table behind a JSON text, nil when it is none; same_record(a, b): do both carry the same id?
-- num(text, default): a finite number, else the default
local function decoded(raw)
  if not raw or raw == '' then return nil end
  local ok, value = pcall(cjson.decode, raw)
  if ok and type(value) == 'table' then return value end
  return nil
end
local function same_record(a, b)
  a, b = decoded(a), decoded(b)
  return a ~= nil and b ~= nil and a.id == b.id
end
local function num(text, default)
  local n = tonumber(text)
  if not n or n ~= n or n > 9007199254740992 or n < -9007199254740992 then return default end
  return n
end
