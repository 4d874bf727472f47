import { evmFamily } from '@opentill/chain-evm/family';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { scanNetworkOf } from '@opentill/scanner/scan-network';
import type { ScannerApp, ScannerDeps as ScannerOfFamilyDeps } from '@opentill/scanner/start-scanner';
import { startScanner as startScannerOfFamily } from '@opentill/scanner/start-scanner';
import { createJudgementObserver } from './observe-judgements.ts';

export type { ScannerApp };

export interface ScannerDeps extends Omit<ScannerOfFamilyDeps, 'schema' | 'openNetworks'> {
  /** EVM networks, each scanned by itself. */
  readonly networks: readonly NetworkConfig[];
}

/** Scans all given networks as the role opentill_scanner_evm; see @opentill/scanner/start-scanner. */
export function startScanner({ networks, ...deps }: ScannerDeps): ScannerApp {
  const judgements = createJudgementObserver(deps);
  return startScannerOfFamily({
    ...deps,
    schema: 'scanner_evm',
    openNetworks: (nodes) =>
      networks.map((config) => ({
        network: scanNetworkOf(config, evmFamily.addressCodec.parse),
        reader: evmFamily.createReader(config, { ...nodes(config.chain), ...judgements(config.chain) }),
      })),
  });
}
