import type { Board } from './board.ts';
import { databaseAndBroker } from './boards/database-and-broker.ts';
import { overview } from './boards/overview.ts';
import { payments } from './boards/payments.ts';
import { payouts } from './boards/payouts.ts';
import { scanners } from './boards/scanners.ts';
import { webhooks } from './boards/webhooks.ts';

export const BOARDS: readonly Board[] = [overview, scanners, payments, payouts, webhooks, databaseAndBroker];
