-- The api compares the chains of its networks file with the registered ones, as scanners and the signer do.
grant select on chain_family to opentill_api;
