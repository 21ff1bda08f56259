"""Puts this folder on the path of the tests in its folders, which import `batches`."""
