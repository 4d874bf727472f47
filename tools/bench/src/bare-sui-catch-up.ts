import { GrpcWebFetchTransport, SuiGrpcClient } from '@mysten/sui/grpc';

/** What the gateway's catching up on SUI is held against: nothing but fetching and decoding. */
export interface BareSuiCatchUp {
  /** One source, or two that are asked the same at once. */
  readonly urls: readonly string[];
  readonly coinTypes: readonly string[];
  readonly isOurs: (address: string) => boolean;
  /** First and last number. */
  readonly from: number;
  readonly to: number;
}

/** As many as nodes give in one list. */
const AT_ONCE = 100;
const PATHS = [
  'sequence_number',
  'digest',
  'summary',
  'transactions.digest',
  'transactions.transaction.sender',
  'transactions.effects.status',
  'transactions.effects.gas_used',
  'transactions.balance_changes',
];

/**
 * Reads checkpoints with the SDK's own client, and counts what came to us of the coins by successful transactions. Compares nothing,
 * stores nothing. Gives the number of payments to us that the first source tells of.
 */
export async function bareSuiCatchUp(options: BareSuiCatchUp): Promise<number> {
  const clients = options.urls.map(
    (baseUrl) =>
      new SuiGrpcClient({
        network: 'localnet',
        transport: new GrpcWebFetchTransport({ baseUrl, format: 'binary' }),
      }),
  );
  const coins = new Set(options.coinTypes);
  let found = 0;
  for (let first = options.from; first <= options.to; first += AT_ONCE) {
    const counts = await Promise.all(
      clients.map(async ({ ledgerService }) => {
        const { responses } = ledgerService.listCheckpoints({
          readMask: { paths: PATHS },
          startCheckpoint: BigInt(first),
          endCheckpoint: BigInt(Math.min(options.to + 1, first + AT_ONCE)),
          options: { limit: AT_ONCE },
        });
        let count = 0;
        for await (const { checkpoint } of responses)
          for (const { effects, balanceChanges } of checkpoint?.transactions ?? []) {
            if (effects?.status?.success !== true) continue;
            for (const { address = '', coinType = '', amount = '0' } of balanceChanges)
              if (coins.has(coinType) && BigInt(amount) > 0n && options.isOurs(address)) count += 1;
          }
        return count;
      }),
    );
    found += counts[0] ?? 0;
  }
  return found;
}
