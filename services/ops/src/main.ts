import { runProcess } from '@opentill/runtime/run-process';
import { composeOps } from './compose.ts';

await runProcess('ops', composeOps, process.env);
