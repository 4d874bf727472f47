import { scannerConfigSchema } from '@opentill/scanner/scanner-config';

export const SCANNER_CONFIG_SCHEMA = scannerConfigSchema(3028);
