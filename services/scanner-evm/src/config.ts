import { scannerConfigSchema } from '@opentill/scanner/scanner-config';

/** Documented in deploy/guides/configuration.md. */
export const SCANNER_CONFIG_SCHEMA = scannerConfigSchema(3021);
