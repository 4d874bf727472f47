import { describeCrashes } from './scan-crashes.ts';

describeCrashes(3, 'every step');
