import type { RangeRead } from '@opentill/chain/chain-reader';
import type { ForeignTransaction } from './foreign-transaction.ts';
import type { Scanning } from './scanning.ts';

/**
 * Finds in a verified range what hot wallets did that the gateway knows nothing of: somebody else has the key, was allowed to
 * spend, or this database forgot it. Only where the reader tells who acted: elsewhere a count of the wallet's transactions
 * says it. The signer commits what it signed before it sends it, so whoever reads it in a block finds it here.
 */
export async function findForeign(
  { network, store }: Pick<Scanning, 'network' | 'store'>,
  { headers, transfers, actors }: RangeRead,
): Promise<readonly ForeignTransaction[]> {
  if (actors === undefined) return [];
  const wallets = await store.hotWallets(network.family);
  const moved = transfers.filter(({ from }) => wallets.has(from));
  const acted = [
    ...actors.filter(({ wallet }) => wallets.has(wallet)),
    ...moved.map(({ txHash, from, blockHeight }) => ({ txHash, wallet: from, blockHeight })),
  ];
  if (acted.length === 0) return [];
  const own = await store.findOwn(network.chain, [...new Set(acted.map(({ txHash }) => txHash))]);
  const found = new Map<string, ForeignTransaction>();
  for (const { txHash, wallet, blockHeight } of acted) {
    const header = headers.find(({ height }) => height === blockHeight);
    if (own.has(txHash) || header === undefined) continue;
    const transfer = moved.find((one) => one.txHash === txHash && one.from === wallet);
    found.set(`${txHash} ${wallet}`, {
      txHash,
      wallet,
      blockHeight,
      blockHash: header.hash,
      blockTimeSeconds: header.timeSeconds,
      moved: transfer && {
        contract: transfer.contract,
        to: transfer.to,
        amountBaseUnits: transfer.amountBaseUnits,
      },
    });
  }
  return [...found.values()];
}
