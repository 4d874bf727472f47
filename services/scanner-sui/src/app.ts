import { parseCoinType } from '@opentill/chain-sui/coin-type';
import { suiFamily } from '@opentill/chain-sui/family';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { scanNetworkOf } from '@opentill/scanner/scan-network';
import type { ScannerApp, ScannerDeps as ScannerOfFamilyDeps } from '@opentill/scanner/start-scanner';
import { startScanner as startScannerOfFamily } from '@opentill/scanner/start-scanner';

export type { ScannerApp };

export interface ScannerDeps extends Omit<ScannerOfFamilyDeps, 'schema' | 'openNetworks'> {
  /** SUI networks, each scanned by itself. */
  readonly networks: readonly NetworkConfig[];
}

/** Scans all given networks as the role opentill_scanner_sui; see @opentill/scanner/start-scanner. */
export function startScanner({ networks, ...deps }: ScannerDeps): ScannerApp {
  return startScannerOfFamily({
    ...deps,
    schema: 'scanner_sui',
    openNetworks: (nodes) =>
      networks.map((config) => ({
        network: scanNetworkOf(config, parseCoinType),
        reader: suiFamily.createReader(config, nodes(config.chain)),
      })),
  });
}
