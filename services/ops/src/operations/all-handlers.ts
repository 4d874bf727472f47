import type { Handlers } from '../handlers.ts';
import { acceptDepositHandlers } from './accept-deposit.ts';
import { chainHandlers } from './chains.ts';
import { deliveryHandlers } from './deliveries.ts';
import { ledgerHandlers } from './ledger.ts';
import { merchantHandlers } from './merchants.ts';
import { operatorHandlers } from './operators.ts';
import type { OpsDeps } from './ops-deps.ts';
import { orderHandlers } from './orders.ts';
import { payoutHandlers } from './payouts.ts';
import { refundHandlers } from './refunds.ts';
import { sweepHandlers } from './sweeps.ts';
import { transferHandlers } from './transfers.ts';
import { watchHandlers } from './watch.ts';

export function allHandlers(deps: OpsDeps): Handlers {
  return {
    ...merchantHandlers(deps),
    ...orderHandlers(deps),
    ...deliveryHandlers(deps),
    ...transferHandlers(deps),
    ...payoutHandlers(deps),
    ...watchHandlers(deps),
    ...chainHandlers(deps),
    ...sweepHandlers(deps),
    ...refundHandlers(deps),
    ...acceptDepositHandlers(deps),
    ...ledgerHandlers(deps),
    ...operatorHandlers(deps),
  };
}
