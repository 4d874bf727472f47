import { describeCrashes } from './scan-crashes.ts';

/** scan-crashes.full.test.ts crashes at every step. */
describeCrashes(1, 4);
