import { runAlone } from '@opentill/runtime/run-alone';
import { composeOps } from './compose.ts';

await runAlone('ops', composeOps, process.env);
