"""The judge's own client: a raw-socket HTTP/1.1 client that follows the contract, and can break it on request.

It proves that the contract can be met, and its mutants prove that the judge sees each bug. It is no product:
it favours plainness over speed and speaks the driver protocol only (`python -m onewrite_conformance.reference`).
"""
