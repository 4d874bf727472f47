import { composeScannerOf } from '@opentill/scanner/compose-scanner';
import { createApp } from './app.ts';
import { SCANNER_CONFIG_SCHEMA } from './config.ts';

/** Opens what the service needs, and starts it: its composition root but for the process. */
export const composeScanner = composeScannerOf({
  service: 'scanner-tron',
  family: 'TRON',
  schema: SCANNER_CONFIG_SCHEMA,
  createApp,
});
