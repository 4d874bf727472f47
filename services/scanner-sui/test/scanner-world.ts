import { randomBytes } from 'node:crypto';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { SuiDevnetOptions } from '@opentill/devnets/sui/start-sui-devnet';
import { startSuiDevnet } from '@opentill/devnets/sui/start-sui-devnet';
import { suiDevnetNetwork } from '@opentill/testkit/devnet-networks';
import { createScannerWorldOf, type Replica as ReplicaOf } from '@opentill/testkit/scanner-world';
import { createApp, type ScannerApp } from '../src/app.ts';

export const CHAIN = 'SUI_TEST';

export type Replica = ReplicaOf<ScannerApp>;

export type ScannerWorld = Awaited<ReturnType<typeof createScannerWorld>>;

export async function createScannerWorld(
  options: Partial<SuiDevnetOptions> & { readonly network?: Partial<NetworkConfig> } = {},
) {
  const { network, ...ofDevnet } = options;
  const devnet = await startSuiDevnet({ checkpointMs: 0, ...ofDevnet });
  const node = await devnet.control.openNode();
  const world = await createScannerWorldOf({
    service: 'scanner-sui',
    network: suiDevnetNetwork(devnet, { rpcUrls: [node.url], reorgWindow: 30, ...network }),
    newAddress: () => `0x${randomBytes(32).toString('hex')}`,
    order: { contract_address: devnet.tokens.USDT },
    createApp,
    isCaughtUp({ seenHash, verified }) {
      const { digest, checkpoint } = devnet.control.summary();
      return seenHash === digest && verified === checkpoint;
    },
    closeDevnet: () => devnet.close(),
  });
  /** `node` is the scanner's node. Its faults do not affect payers. */
  return { ...world, devnet, node };
}
