import { composeFamilyScanner } from '@opentill/scanner/compose-scanner';
import { createApp } from './app.ts';
import { SCANNER_CONFIG_SCHEMA } from './config.ts';

export const composeScanner = composeFamilyScanner({
  service: 'scanner-sui',
  family: 'SUI',
  schema: SCANNER_CONFIG_SCHEMA,
  createApp,
});
