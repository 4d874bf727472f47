/** Who may do what with sweeps: test/grants.test.ts says it a second time. */
export const SWEEP_GRANTS = `
grant select on deposit_balance, sweep, movement, sweep_pause, sweep_request, unmatched_deposit, own_transaction_settlement to opentill_signer;
grant insert, update on sweep to opentill_signer;
grant select, insert, update on sweep_plan to opentill_signer;
grant update (handled_at, planned) on sweep_request to opentill_signer;
grant execute on function plan_movement(jsonb) to opentill_signer;
grant select on movement, sweep, deposit_balance to opentill_tracker;
grant select on deposit_balance, sweep, movement, sweep_pause, sweep_request, sweep_plan to opentill_ops;
grant insert, delete on sweep_pause to opentill_ops;
grant insert (chain, operator) on sweep_request to opentill_ops;
grant execute on function refund_deposit(jsonb), payout_may_move(uuid) to opentill_ops;
grant execute on function payout_may_move(uuid) to opentill_signer;
grant select on movement to opentill_api;
`;
