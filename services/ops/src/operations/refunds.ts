import type { TokenConfig } from '@opentill/contracts/network-config';
import { newEvent } from '@opentill/db/outbox';
import { familyOf, type Family } from '@opentill/domain/chains';
import { parseAmount } from '@opentill/domain/money';
import { ADDRESS_CODECS } from '../address-codecs.ts';
import type { Handlers } from '../handlers.ts';
import { notFound, refuse } from '../refuse.ts';
import { readRefundable, refundDeposit } from '../store/sweeps.ts';
import { readAcceptable } from '../store/unmatched.ts';
import type { OpsDeps } from './ops-deps.ts';

/** How long a refund waits for approvals and for the wallet's turn. */
const REFUND_SECONDS = 172_800;

/** Deposits that are given back. */
export function refundHandlers({ assets, clock, newId }: OpsDeps): Pick<Handlers, 'refundDeposit'> {
  return {
    async refundDeposit({ tx, operator, emit }, { transferId, receiver, amountBaseUnits, amount: shown }) {
      const deposit = await readRefundable(tx, transferId);
      if (deposit === undefined) throw notFound(`unmatched deposit ${transferId} that can be given back`);
      if ((await readAcceptable(tx, transferId))?.isDecided === true)
        throw refuse('STATE_CONFLICT', 'It is being accepted for its order: look again in some seconds.');
      const { chain, symbol, wallet, merchant_id: merchantId } = deposit;
      const token = assets.requireToken(chain, symbol);
      const amount = partOf(amountBaseUnits, shown, token) ?? deposit.left;
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

/** Undefined: all that is left. */
function partOf(
  inBaseUnits: string | undefined,
  shown: string | undefined,
  { symbol, decimals }: TokenConfig,
): bigint | undefined {
  if (inBaseUnits !== undefined && shown !== undefined) throw refuse('UNPROCESSABLE', 'Say the amount once.');
  if (shown === undefined) return inBaseUnits === undefined ? undefined : BigInt(inBaseUnits);
  const parsed = parseAmount(shown, decimals);
  if (!parsed.ok)
    throw refuse('UNPROCESSABLE', `${shown} is no amount of ${symbol}, which has ${decimals} decimals.`);
  return parsed.value;
}

/** As stored. Nobody can take back what went to a mistyped address: where one has a checksum it must be right. */
function canonical(family: Family, address: string): string {
  const parsed = ADDRESS_CODECS.find((codec) => codec.family === family)?.parse(address);
  if (parsed === undefined)
    throw refuse(
      'UNPROCESSABLE',
      'That is no address of this chain, or its checksum (of EVM: upper and lower case) is wrong: copy it once more from where it came.',
    );
  return parsed;
}
