import { runAlone } from '@opentill/runtime/run-process';
import { composeTracker } from './compose.ts';

await runAlone('confirmation-tracker', composeTracker, process.env);
