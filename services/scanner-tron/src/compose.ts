import { composeFamilyScanner } from '@opentill/scanner/compose-scanner';
import { createApp } from './app.ts';
import { SCANNER_CONFIG_SCHEMA } from './config.ts';

export const composeScanner = composeFamilyScanner({
  service: 'scanner-tron',
  family: 'TRON',
  schema: SCANNER_CONFIG_SCHEMA,
  createApp,
});
