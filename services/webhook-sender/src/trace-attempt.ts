import { startSpan, type OrderSpan } from '@opentill/runtime/tracing';
import type { AttemptResult } from './send-callback.ts';
import type { ClaimedDelivery } from './store/claim-due.ts';

/** Names the host only: the rest of a callback URL may contain secrets. */
export function startAttemptSpan(claim: ClaimedDelivery): OrderSpan | undefined {
  const { traceparent, notifyType, callbackUrl } = claim;
  if (traceparent === null) return undefined;
  return startSpan('webhook-sender', `callback ${notifyType}`, {
    parent: traceparent,
    kind: 'CLIENT',
    attributes: {
      'opentill.order_pk': claim.subjectId,
      'opentill.merchant_id': claim.merchantId,
      'opentill.event_id': claim.eventId,
      'opentill.attempt': claim.attempt,
      'http.request.method': 'POST',
      'server.address': URL.canParse(callbackUrl) ? new URL(callbackUrl).hostname : 'invalid',
    },
  });
}

export function markResult(span: OrderSpan, result: AttemptResult): void {
  if (result.kind === 'ANSWERED') span.set({ 'http.response.status_code': result.statusCode });
  else span.set({ 'error.type': result.kind === 'FAILED' ? result.code : result.kind });
}
