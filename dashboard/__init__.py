"""The pages: selectors read, views show, actions call the verbs of ``queueops.operations``."""
