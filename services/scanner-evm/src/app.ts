import { evmFamily } from '@opentill/chain-evm/family';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { scanNetworkOf } from '@opentill/scanner/scan-network';
import {
  createScanner,
  type ScannerApp,
  type ScannerDeps as ScannerOfFamilyDeps,
} from '@opentill/scanner/create-scanner';
import { createRejectedLogsObserver } from './observe-rejected-logs.ts';

export type { ScannerApp };

export interface ScannerDeps extends Omit<ScannerOfFamilyDeps, 'schema' | 'openNetworks'> {
  readonly networks: readonly NetworkConfig[];
}

export function createApp({ networks, ...deps }: ScannerDeps): ScannerApp {
  const judgements = createRejectedLogsObserver(deps);
  return createScanner({
    ...deps,
    schema: 'scanner_evm',
    openNetworks: (nodes) =>
      networks.map((config) => ({
        network: scanNetworkOf(config, evmFamily.addressCodec.parse),
        reader: evmFamily.createReader(config, { ...nodes(config.chain), ...judgements(config.chain) }),
      })),
  });
}
