import type { TokenConfig } from '@opentill/contracts/network-config';
import { newEvent } from '@opentill/db/outbox';
import { familyOf, type Family } from '@opentill/domain/chains';
import { parseAmount } from '@opentill/domain/money';
import { ADDRESS_CODECS } from '../address-codecs.ts';
import type { Handlers } from '../handlers.ts';
import { notFound, opsError } from '../ops-error.ts';
import { readRefundable, refundDeposit } from '../store/sweeps.ts';
import { readAcceptable } from '../store/unmatched.ts';
import type { OpsDeps } from './ops-deps.ts';

/** Seconds that a refund waits for approvals and for its wallet. */
const REFUND_SECONDS = 172_800;

export function refundHandlers({ assets, clock, newId }: OpsDeps): Pick<Handlers, 'refundDeposit'> {
  return {
    async refundDeposit({ tx, operator, emit }, { transferId, receiver, amountBaseUnits, amount: shown }) {
      const deposit = await readRefundable(tx, transferId);
      if (deposit === undefined) throw notFound(`refundable unmatched deposit ${transferId}`);
      if ((await readAcceptable(tx, transferId))?.isDecided === true)
        throw opsError(
          'STATE_CONFLICT',
          'The deposit is being accepted for its order. Check again in some seconds.',
        );
      const { chain, symbol, wallet, merchant_id: merchantId } = deposit;
      const token = assets.requireToken(chain, symbol);
      const amount = partOf(amountBaseUnits, shown, token) ?? deposit.left;
      if (amount <= 0n || amount > deposit.left)
        throw opsError('UNPROCESSABLE', `Only ${deposit.left} base units of this deposit are left.`);
      if (wallet === null) throw opsError('UNPROCESSABLE', `There is no hot wallet of ${chain}.`);
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
      if (!began)
        throw opsError('STATE_CONFLICT', `The hot wallet of ${chain} does not hold enough ${symbol}.`);
      await emit(newEvent('payout.decided', familyOf(chain), { orderPk }, { newId, clock }));
      const answer = { orderPk, merchantId, chain, symbol, amountBaseUnits: amount.toString(), receiver: to };
      return { answer, subject: String(transferId), details: { orderPk, receiver: to } };
    },
  };
}

function partOf(
  inBaseUnits: string | undefined,
  shown: string | undefined,
  { symbol, decimals }: TokenConfig,
): bigint | undefined {
  if (inBaseUnits !== undefined && shown !== undefined)
    throw opsError('UNPROCESSABLE', 'Give either amount or amountBaseUnits.');
  if (shown === undefined) return inBaseUnits === undefined ? undefined : BigInt(inBaseUnits);
  const parsed = parseAmount(shown, decimals);
  if (!parsed.ok)
    throw opsError(
      'UNPROCESSABLE',
      `${shown} is not an amount of ${symbol}, which has ${decimals} decimals.`,
    );
  return parsed.value;
}

/** A transfer to a mistyped address cannot be reverted, so a checksum, if present, must be right. */
function canonical(family: Family, address: string): string {
  const parsed = ADDRESS_CODECS.find((codec) => codec.family === family)?.parse(address);
  if (parsed === undefined)
    throw opsError(
      'UNPROCESSABLE',
      'The receiver is not an address of this chain, or its checksum (on EVM: upper and lower case) is wrong: copy it again from its source.',
    );
  return parsed;
}
