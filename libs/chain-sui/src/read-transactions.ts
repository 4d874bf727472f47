import type { GrpcTypes } from '@mysten/sui/grpc';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import { TRANSACTION_MASK } from './decode-checkpoint.ts';
import type { SuiSource } from './sui-sources.ts';

/** Limit of nodes for one BatchGetTransactions request. */
export const TRANSACTIONS_PER_CALL = 200;

export async function readTransactions(
  source: SuiSource,
  digests: readonly string[],
  options: ReadOptions,
  paths: readonly string[] = TRANSACTION_MASK.paths,
): Promise<readonly (GrpcTypes.ExecutedTransaction | undefined)[]> {
  const found: (GrpcTypes.ExecutedTransaction | undefined)[] = [];
  for (let at = 0; at < digests.length; at += TRANSACTIONS_PER_CALL) {
    const some = digests.slice(at, at + TRANSACTIONS_PER_CALL);
    const results = await readTransactionResults(source, some, options, paths);
    if (results.length !== some.length)
      throw readerError(
        'INCONSISTENT_ANSWER',
        'the node returned another number of transactions than requested',
        {
          source: source.label,
        },
      );
    for (const { result } of results)
      found.push(result.oneofKind === 'transaction' ? result.transaction : missing(source, result));
  }
  return found;
}

const NOT_FOUND = 5;

function missing(
  source: SuiSource,
  result: { readonly oneofKind: string | undefined; readonly error?: { readonly code: number } },
): undefined {
  if (result.error?.code === NOT_FOUND) return undefined;
  throw readerError('INCONSISTENT_ANSWER', 'the node returned neither a transaction nor NOT_FOUND', {
    source: source.label,
    code: result.error?.code,
  });
}

async function readTransactionResults(
  source: SuiSource,
  digests: readonly string[],
  options: ReadOptions,
  paths: readonly string[],
): Promise<readonly GrpcTypes.GetTransactionResult[]> {
  const request = { digests: [...digests], readMask: { paths: [...paths] } };
  const { response } = await source.ask(
    ({ ledger }, call) => ledger.batchGetTransactions(request, call),
    options,
  );
  return response.transactions;
}
