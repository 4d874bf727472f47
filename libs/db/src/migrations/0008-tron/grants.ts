/** Who may do what with attempts: test/grants.test.ts says it a second time. */
export const ATTEMPT_GRANTS = `
grant select on payout_attempt to opentill_scanner_evm, opentill_signer, opentill_ops;
grant insert (chain, tx_hash, wallet, order_pk, unique_ms, expires_ms, reference_height, reference_hash) on payout_attempt to opentill_signer;
grant execute on function chain_over_ms(text) to opentill_signer;
grant update (state, dead_height, dead_hash, updated_at) on payout_attempt to opentill_signer;
`;
