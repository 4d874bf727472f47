import { runProcess } from '@opentill/runtime/run-process';
import { composeTracker } from './compose.ts';

await runProcess('confirmation-tracker', composeTracker, process.env);
