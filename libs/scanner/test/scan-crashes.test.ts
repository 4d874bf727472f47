import { describeCrashes } from './scan-crashes.ts';

/** Every step is in scan-crashes.full.test.ts. */
describeCrashes(1, 4);
