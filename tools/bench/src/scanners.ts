import { startScanner as startEvmScanner } from '@opentill/scanner-evm/app';
import { startScanner as startSuiScanner } from '@opentill/scanner-sui/app';
import { startScanner as startTronScanner } from '@opentill/scanner-tron/app';

/** Families whose scanners are measured. */
export type ScannedFamily = 'EVM' | 'TRON' | 'SUI';

/** The scanner of each, with its name and the role that it has in the database. */
export const SCANNERS = {
  EVM: { start: startEvmScanner, service: 'scanner-evm', role: 'scanner_evm' },
  TRON: { start: startTronScanner, service: 'scanner-tron', role: 'scanner_tron' },
  SUI: { start: startSuiScanner, service: 'scanner-sui', role: 'scanner_sui' },
} as const;
