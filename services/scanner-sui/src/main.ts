import { runProcess } from '@opentill/runtime/run-process';
import { composeScanner } from './compose.ts';

await runProcess('scanner-sui', composeScanner, process.env);
