import type { Address } from '@opentill/chain/address-codec';
import type { OpsInput } from '@opentill/contracts/ops/catalog';
import { newEvent } from '@opentill/db/outbox';
import type { Db } from '@opentill/db/database';
import { approvalText, verifyApproval } from '@opentill/wallet/policy/approval';
import type { PolicyPayout } from '@opentill/wallet/policy/policy';
import type { Act, Handlers } from '../handlers.ts';
import { keyAfter, PAGE_SIZE, pageOf } from '../page.ts';
import { notFound, opsError } from '../ops-error.ts';
import {
  findPayouts,
  highestTakenNonce,
  insertApproval,
  insertPayoutDecision,
  insertVeto,
  mayBePaidByForeign,
  readPayout,
  unprovenAttemptOf,
  type PayoutRow,
} from '../store/payouts.ts';
import type { OpsDeps } from './ops-deps.ts';
import { showPayout } from './show-payout.ts';

type PayoutOperation =
  'decidePayout' | 'listPayouts' | 'getPayout' | 'getApprovalText' | 'approvePayout' | 'vetoPayout';

/** Only the signer evaluates approvals, vetoes and decisions. */
export function payoutHandlers({ db, clock, newId }: OpsDeps): Pick<Handlers, PayoutOperation> {
  const notifySigner = ({ emit }: Act, { orderPk, family }: PayoutRow) =>
    emit(newEvent('payout.decided', family, { orderPk }, { newId, clock }));

  return {
    async listPayouts({ limit = PAGE_SIZE, cursor, ...filter }) {
      const rows = await findPayouts(db, filter, keyAfter(cursor, 'uuid'), limit + 1);
      return pageOf(rows, limit, (row) => row.orderPk, showPayout);
    },
    async getPayout({ orderPk }) {
      return showPayout(await required(db, orderPk));
    },
    async getApprovalText({ orderPk }) {
      const payout = policyPayoutOf(await required(db, orderPk));
      const { chain, wallet, contract, symbol, receiver, merchantId } = payout;
      const amountBaseUnits = payout.amountBaseUnits.toString();
      return {
        text: approvalText(payout),
        chain,
        wallet,
        contract,
        symbol,
        amountBaseUnits,
        receiver,
        merchantId,
        orderPk,
      };
    },
    async approvePayout(act, { orderPk, publicKey, signature }) {
      const payout = await required(act.tx, orderPk);
      requireUnsigned(payout);
      const bytes = Buffer.from(signature, 'hex');
      if (!verifyApproval(publicKey, approvalText(policyPayoutOf(payout)), bytes)) {
        throw opsError(
          'UNPROCESSABLE',
          'The signature does not match this payout and key: fetch the payout again and sign its text.',
        );
      }
      const added = await insertApproval(act.tx, { orderPk, approver: publicKey, signature: bytes });
      await notifySigner(act, payout);
      return { answer: showPayout(await required(act.tx, orderPk)), details: { added } };
    },
    async vetoPayout(act, { orderPk, reason }) {
      const payout = await required(act.tx, orderPk);
      requireUnsigned(payout);
      const added = await insertVeto(act.tx, { orderPk, operator: act.operator.operatorId, reason });
      if (!added) throw opsError('STATE_CONFLICT', 'This payout is already vetoed.');
      await notifySigner(act, payout);
      return { answer: showPayout(await required(act.tx, orderPk)) };
    },
    async decidePayout(act, input) {
      const payout = await required(act.tx, input.orderPk);
      const details = await decide(act, payout, newId(), input);
      await notifySigner(act, payout);
      return { answer: showPayout(await required(act.tx, input.orderPk)), details };
    },
  };
}

/** Decides a payout that an unknown transaction, or its own unproven attempt, may have paid. */
async function decide(
  act: Act,
  payout: PayoutRow,
  decisionId: string,
  { orderPk, decision, txHash, reason }: OpsInput<'decidePayout'>,
): Promise<Readonly<Record<string, unknown>>> {
  if (payout.state === 'REFUSED' || payout.state === 'EXPIRED')
    throw opsError('STATE_CONFLICT', `The payout has ended: it is ${payout.state}.`);
  if ((decision === 'PAID_BY') !== (txHash !== undefined))
    throw opsError('UNPROCESSABLE', 'txHash is required with PAID_BY and not allowed with PAY_AGAIN.');
  const nonce = decision === 'PAY_AGAIN' ? ((await highestTakenNonce(act.tx, orderPk)) ?? null) : null;
  const isForSigner = payout.state === 'AUTHORISED' && payout.obstacle === 'NEEDS_DECISION';
  const unprovenTxHash =
    decision === 'PAY_AGAIN' ? ((await unprovenAttemptOf(act.tx, orderPk)) ?? null) : null;
  const isInDoubt = isForSigner || nonce !== null || unprovenTxHash !== null || decision === 'PAID_BY';
  if (!isInDoubt && !(await mayBePaidByForeign(act.tx, orderPk)))
    throw opsError(
      'STATE_CONFLICT',
      'The payout does not wait for a decision: no unknown transaction took its nonce or made the same payment, it has no UNPROVEN attempt on SUI, and its attempts have not expired as often as the policy permits.',
    );
  const { operatorId: operator } = act.operator;
  const added = await insertPayoutDecision(act.tx, {
    decisionId,
    orderPk,
    nonce,
    decision,
    txHash: txHash?.toLowerCase() ?? null,
    unprovenTxHash,
    reason,
    operator,
  });
  if (!added)
    throw opsError('STATE_CONFLICT', 'A decision about this payout is already waiting for the signer.');
  return { decision, txHash, nonce, ...(unprovenTxHash !== null && { unprovenTxHash }) };
}

async function required(db: Db, orderPk: string): Promise<PayoutRow> {
  const row = await readPayout(db, orderPk);
  if (row === undefined) throw notFound(`payout ${orderPk}`);
  return row;
}

function requireUnsigned({ state, reason }: PayoutRow): void {
  if (state === 'REQUESTED' || state === 'AUTHORISED') return;
  const why = state === 'SIGNED' ? 'it is signed and may have been sent' : `it is ${state}: ${reason ?? ''}`;
  throw opsError('STATE_CONFLICT', `This payout can no longer be approved or vetoed: ${why}.`);
}

function policyPayoutOf(row: PayoutRow): PolicyPayout {
  return {
    chain: row.chain,
    wallet: row.wallet as Address,
    contract: row.contractAddress,
    symbol: row.symbol,
    decimals: row.decimals,
    amountBaseUnits: row.amount,
    receiver: row.receiver as Address,
    merchantId: row.merchantId,
    orderPk: row.orderPk,
  };
}
