import { newEvent } from '@opentill/db/outbox';
import { familyOf, type Family } from '@opentill/domain/chains';
import type { Handlers } from '../handlers.ts';
import { notFound, refuse } from '../refuse.ts';
import { readRefundable, refundDeposit } from '../store/sweeps.ts';
import type { OpsDeps } from './ops-deps.ts';

/** How long a refund waits for approvals and for the wallet's turn. */
const REFUND_SECONDS = 172_800;

/** Deposits that are given back. */
export function refundHandlers({ assets, clock, newId }: OpsDeps): Pick<Handlers, 'refundDeposit'> {
  return {
    async refundDeposit({ tx, operator, emit }, { transferId, receiver, amountBaseUnits }) {
      const deposit = await readRefundable(tx, transferId);
      if (deposit === undefined) throw notFound(`unmatched deposit ${transferId} that can be given back`);
      const { chain, symbol, wallet, merchant_id: merchantId } = deposit;
      const token = assets.requireToken(chain, symbol);
      const amount = amountBaseUnits === undefined ? deposit.left : BigInt(amountBaseUnits);
      if (amount <= 0n || amount > deposit.left)
        throw refuse('UNPROCESSABLE', `Of this deposit ${deposit.left} base units are left.`);
      if (wallet === null) throw refuse('UNPROCESSABLE', `There is no hot wallet of ${chain}.`);
      const orderPk = newId();
      const to = canonical(familyOf(chain), receiver);
      const began = await refundDeposit(tx, {
        orderPk,
        transferId,
        chain,
        symbol,
        contract: deposit.contract,
        decimals: token.decimals,
        displayDecimals: token.displayDecimals,
        amount: amount.toString(),
        wallet,
        receiver: to,
        seconds: REFUND_SECONDS,
        plannedBy: operator.operatorId,
      });
      if (!began) throw refuse('STATE_CONFLICT', `The hot wallet of ${chain} has not got ${symbol} enough.`);
      await emit(newEvent('payout.decided', familyOf(chain), { orderPk }, { newId, clock }));
      const answer = { orderPk, merchantId, chain, symbol, amountBaseUnits: amount.toString(), receiver: to };
      return { answer, subject: String(transferId), details: { orderPk, receiver: to } };
    },
  };
}

/** As stored; whether it can be paid at all the signer says, which has the codecs. */
function canonical(family: Family, address: string): string {
  const grammar = family === 'TRON' ? /^T[1-9A-HJ-NP-Za-km-z]{33}$/ : /^0x[0-9a-fA-F]{40,64}$/;
  if (!grammar.test(address)) throw refuse('UNPROCESSABLE', 'That is no address of this chain.');
  return family === 'TRON' ? address : address.toLowerCase();
}
