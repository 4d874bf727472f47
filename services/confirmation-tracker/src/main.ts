import { runAlone } from '@opentill/runtime/run-alone';
import { composeTracker } from './compose.ts';

await runAlone('confirmation-tracker', composeTracker, process.env);
