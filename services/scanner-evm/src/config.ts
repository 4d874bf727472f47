import { scannerConfigSchema } from '@opentill/scanner/scanner-config';

/** JSON Schema of the environment (README.md, "Configuration"). */
export const SCANNER_CONFIG_SCHEMA = scannerConfigSchema(3021);
