import { GrpcWebFetchTransport, SuiGrpcClient } from '@mysten/sui/grpc';
import type { NaiveScanner } from '@opentill/testkit/truth-run';

const TRIES = 3;

/**
 * Reads each checkpoint up to one node's head, takes all receipts of addresses for payments whatever the transaction's
 * status, and skips a checkpoint after an empty answer. Starts above `height`. Credits are `transaction address coin
 * amount`.
 */
export function createNaiveScanner(options: {
  readonly url: string;
  readonly height: number;
  readonly isOurs: (address: string) => boolean;
}): NaiveScanner {
  const { ledgerService } = new SuiGrpcClient({
    network: 'localnet',
    transport: new GrpcWebFetchTransport({ baseUrl: options.url, format: 'binary' }),
  });
  const credited = new Set<string>();
  let cursor = options.height;

  async function ask<T>(question: () => PromiseLike<T>): Promise<T | undefined> {
    for (let tries = 1; tries <= TRIES; tries += 1)
      try {
        return await question();
      } catch {
        // Retry.
      }
    return undefined;
  }

  return {
    credited,
    async step() {
      const info = await ask(() => ledgerService.getServiceInfo({}));
      const head = Number(info?.response.checkpointHeight ?? 0n);
      while (cursor < head) {
        cursor += 1;
        const checkpointId = { oneofKind: 'sequenceNumber', sequenceNumber: BigInt(cursor) } as const;
        const readMask = { paths: ['transactions.digest', 'transactions.balance_changes'] };
        const answer = await ask(() => ledgerService.getCheckpoint({ checkpointId, readMask }));
        for (const { digest, balanceChanges } of answer?.response.checkpoint?.transactions ?? [])
          for (const { address = '', coinType, amount = '' } of balanceChanges)
            if (options.isOurs(address) && !amount.startsWith('-'))
              credited.add(`${digest} ${address} ${coinType} ${amount}`);
      }
    },
  };
}
