import { runAlone } from '@opentill/runtime/run-process';
import { composeOps } from './compose.ts';

await runAlone('ops', composeOps, process.env);
