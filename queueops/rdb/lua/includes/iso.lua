-- iso_us(text): µs of RQ's ISO text (UTC), nil for any other; for jobs of plain RQ, which carry no waiting_since
local function iso_us(text)
  local y, mo, d, h, mi, s, frac = string.match(text or '', '^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)%.?(%d*)')
  if not y then return nil end
  y, mo, d = tonumber(y), tonumber(mo), tonumber(d)
  if mo <= 2 then y = y - 1 end
  local era = math.floor(y / 400)
  local yoe = y - era * 400
  local doy = math.floor((153 * (mo + (mo > 2 and -3 or 9)) + 2) / 5) + d - 1
  local days = era * 146097 + yoe * 365 + math.floor(yoe / 4) - math.floor(yoe / 100) + doy - 719468
  local us = tonumber(string.sub(frac .. '000000', 1, 6))
  return ((days * 24 + tonumber(h)) * 60 + tonumber(mi)) * 60000000 + tonumber(s) * 1000000 + us
end
