import { setTimeout as delay } from 'node:timers/promises';
import { commitOutcome, type Chain } from './chain.ts';
import { checkExpiration } from './check-expiration.ts';
import { checkSignatures } from './check-signatures.ts';
import { checkTransaction, type CheckedTransaction } from './check-transaction.ts';
import { execute } from './execute.ts';
import { gasPaymentOf } from './gas-payment.ts';
import { isRefusal, refuse } from './refusal.ts';
import {
  parseTransaction,
  transactionDigest,
  type TransactionData,
  type TransactionRecord,
} from './transaction.ts';

export interface Submission {
  readonly bytes: Uint8Array;
  readonly signatures: readonly Uint8Array[];
}

const REJECTED =
  'Transaction is rejected as invalid by more than 1/3 of validators by stake (non-retriable). Non-retriable errors: ';

/** Idempotent: the same bytes return the same record. The record is final; the next checkpoint will contain it. */
export async function submit(
  chain: Chain,
  { bytes, signatures }: Submission,
  consensusMs: number,
): Promise<TransactionRecord> {
  const data = parseTransaction(bytes);
  checkSignatures(data, bytes, signatures);
  const digest = transactionDigest(bytes);
  const known = chain.transactions.get(digest) ?? chain.submissions.get(digest);
  if (known !== undefined) return known;
  const checked = checkAsValidator(chain, data, bytes);
  if (checked.gas.kind === 'gasless') admitGasless(chain);
  lock(chain, checked, digest);
  const { held } = chain;
  if (consensusMs === 0 && held === undefined) return settle(chain, { checked, digest, bytes, signatures });
  const ordered = Promise.all([delay(consensusMs), held]);
  const settled = ordered.then(() => settle(chain, { checked, digest, bytes, signatures }));
  chain.submissions.set(digest, settled);
  return settled;
}

function checkAsValidator(chain: Chain, data: TransactionData, bytes: Uint8Array): CheckedTransaction {
  try {
    return checkTransaction(chain, data, bytes);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return refuse('INVALID_ARGUMENT', `${REJECTED}[${error.message}].`);
  }
}

/** Under load, validators reject gasless transactions first. */
function admitGasless(chain: Chain): void {
  const waiting = chain.pending.filter(({ data }) => gasPaymentOf(data).kind === 'gasless').length;
  if (waiting >= chain.parameters.gaslessTransactionsPerCheckpoint) {
    refuse('RESOURCE_EXHAUSTED', 'Gasless transactions are rate limited, try again later');
  }
}

/** The first transaction that uses an object version locks it. */
function lock(chain: Chain, { ownedInputs }: CheckedTransaction, digest: string): void {
  for (const label of ownedInputs) {
    const holder = chain.locks.get(label);
    if (holder !== undefined && holder !== digest) {
      refuse(
        'FAILED_PRECONDITION',
        `${REJECTED}[Object ${label} already locked by a different transaction: TransactionDigest(${holder})].`,
      );
    }
  }
  for (const label of ownedInputs) chain.locks.set(label, digest);
}

function settle(
  chain: Chain,
  { checked, digest, bytes, signatures }: Submission & { checked: CheckedTransaction; digest: string },
): TransactionRecord {
  try {
    checkExpiration(chain, checked.data, { needsWindow: false });
    const outcome = execute(chain, checked, digest);
    const record: TransactionRecord = {
      digest,
      bytes,
      signatures,
      data: checked.data,
      outcome,
      place: undefined,
    };
    commitOutcome(chain, record);
    chain.pending.push(record);
    return record;
  } finally {
    for (const label of checked.ownedInputs) chain.locks.delete(label);
    chain.submissions.delete(digest);
  }
}
