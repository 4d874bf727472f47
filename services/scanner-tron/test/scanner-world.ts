import { randomBytes } from 'node:crypto';
import { addressOfShortHex } from '@opentill/chain-tron/address-codec';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { TronDevnetOptions } from '@opentill/devnets/tron/start-tron-devnet';
import { startTronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import { tronDevnetNetwork } from '@opentill/testkit/devnet-networks';
import { createScannerWorldOf, type Replica as ReplicaOf } from '@opentill/testkit/scanner-world';
import { createApp, type ScannerApp } from '../src/app.ts';

export type Replica = ReplicaOf<ScannerApp>;

export type ScannerWorld = Awaited<ReturnType<typeof createScannerWorld>>;

export async function createScannerWorld(
  options: Partial<TronDevnetOptions> & { readonly network?: Partial<NetworkConfig> } = {},
) {
  const { network, ...devnetOptions } = options;
  const devnet = await startTronDevnet({ blockTimeMs: 0, solidLagBlocks: 3, ...devnetOptions });
  const world = await createScannerWorldOf({
    service: 'scanner-tron',
    network: tronDevnetNetwork(devnet, { reorgWindow: 30, ...network }),
    newAddress: () => addressOfShortHex(randomBytes(20).toString('hex'))!,
    order: { contract_address: devnet.tokens.USDT },
    createApp,
    isCaughtUp({ seenHash, verified }) {
      const { headId, solid } = devnet.control.summary();
      return seenHash === headId && verified === solid;
    },
    closeDevnet: () => devnet.close(),
  });
  return { ...world, devnet };
}
