import { randomBytes } from 'node:crypto';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { SuiDevnet, SuiDevnetOptions, SuiNode } from '@opentill/devnets/sui/start-sui-devnet';
import { startSuiDevnet } from '@opentill/devnets/sui/start-sui-devnet';
import { suiDevnetNetwork } from '@opentill/testkit/devnet-networks';
import {
  createScannerWorldOf,
  type Replica as ReplicaOf,
  type ScannerWorld as WorldOf,
} from '@opentill/testkit/scanner-world';
import { startScanner, type ScannerApp } from '../src/app.ts';

export const CHAIN = 'SUI_TEST';

export type Replica = ReplicaOf<ScannerApp>;

/** A devnet whose checkpoints are made when told, a database and a broker. */
export interface ScannerWorld extends WorldOf<ScannerApp> {
  readonly devnet: SuiDevnet;
  /** The node that the scanner reads. Its faults do not reach those who pay. */
  readonly node: SuiNode;
}

export async function createScannerWorld(
  options: Partial<SuiDevnetOptions> & { readonly network?: Partial<NetworkConfig> } = {},
): Promise<ScannerWorld> {
  const { network, ...ofDevnet } = options;
  const devnet = await startSuiDevnet({ checkpointMs: 0, ...ofDevnet });
  const node = await devnet.control.openNode();
  const world = await createScannerWorldOf({
    service: 'scanner-sui',
    network: suiDevnetNetwork(devnet, { rpcUrls: [node.url], reorgWindow: 30, ...network }),
    newAddress: () => `0x${randomBytes(32).toString('hex')}`,
    order: { contract_address: devnet.tokens.USDT },
    startScanner,
    isCaughtUp({ seenHash, verified }) {
      const { digest, checkpoint } = devnet.control.summary();
      return seenHash === digest && verified === checkpoint;
    },
    closeDevnet: () => devnet.close(),
  });
  return { ...world, devnet, node };
}
