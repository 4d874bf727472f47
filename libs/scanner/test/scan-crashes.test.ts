import { describeCrashes } from './scan-crashes.ts';

/** Every step is in scan-crashes.full.test.ts. Not a multiple of two: steps come in pairs, before and after. */
describeCrashes(5);
