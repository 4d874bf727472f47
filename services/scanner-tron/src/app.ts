import { tronFamily } from '@opentill/chain-tron/family';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { scanNetworkOf } from '@opentill/scanner/scan-network';
import {
  createScanner,
  type ScannerApp,
  type ScannerDeps as ScannerOfFamilyDeps,
} from '@opentill/scanner/create-scanner';

export type { ScannerApp };

export interface ScannerDeps extends Omit<ScannerOfFamilyDeps, 'schema' | 'openNetworks'> {
  readonly networks: readonly NetworkConfig[];
}

export function createApp({ networks, ...deps }: ScannerDeps): ScannerApp {
  return createScanner({
    ...deps,
    schema: 'scanner_tron',
    openNetworks: (nodes) =>
      networks.map((config) => ({
        network: scanNetworkOf(config, tronFamily.addressCodec.parse),
        reader: tronFamily.createReader(config, nodes(config.chain)),
      })),
  });
}
