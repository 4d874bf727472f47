import { scannerConfigSchema } from '@opentill/scanner/scanner-config';

/** JSON Schema of the environment (deploy/guides/configuration.md). */
export const SCANNER_CONFIG_SCHEMA = scannerConfigSchema(3028);
