import { startScanner as startEvmScanner } from '@opentill/scanner-evm/app';
import { startScanner as startTronScanner } from '@opentill/scanner-tron/app';

/** Families whose scanners are measured. */
export type ScannedFamily = 'EVM' | 'TRON';

/** The scanner of each, with its name and the role that it has in the database. */
export const SCANNERS = {
  EVM: { start: startEvmScanner, service: 'scanner-evm', role: 'scanner_evm' },
  TRON: { start: startTronScanner, service: 'scanner-tron', role: 'scanner_tron' },
} as const;
