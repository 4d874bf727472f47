import { runProcess } from '@opentill/runtime/run-process';
import { composeWebhookSender } from './compose.ts';

await runProcess('webhook-sender', composeWebhookSender, process.env);
