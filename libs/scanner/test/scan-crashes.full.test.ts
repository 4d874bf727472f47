import { describeCrashes } from './scan-crashes.ts';

describeCrashes(1);
