import { tronFamily } from '@opentill/chain-tron/family';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { scanNetworkOf } from '@opentill/scanner/scan-network';
import type { ScannerApp, ScannerDeps as ScannerOfFamilyDeps } from '@opentill/scanner/start-scanner';
import { startScanner as startScannerOfFamily } from '@opentill/scanner/start-scanner';

export type { ScannerApp };

export interface ScannerDeps extends Omit<ScannerOfFamilyDeps, 'schema' | 'openNetworks'> {
  /** TRON networks, each scanned by itself. */
  readonly networks: readonly NetworkConfig[];
}

/** Scans all given networks as the role opentill_scanner_tron; see @opentill/scanner/start-scanner. */
export function startScanner({ networks, ...deps }: ScannerDeps): ScannerApp {
  return startScannerOfFamily({
    ...deps,
    schema: 'scanner_tron',
    openNetworks: (nodes) =>
      networks.map((config) => ({
        network: scanNetworkOf(config, tronFamily.addressCodec.parse),
        reader: tronFamily.createReader(config, nodes(config.chain)),
      })),
  });
}
