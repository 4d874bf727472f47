import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Tracks the connection of a request. Returns a function that reports if an earlier request used it. Not
 * `reusedSocket`: Node reports a connection as new that another request has just released to this one while it waited.
 */
export function noteConnection(request: ClientRequest, usedBefore: WeakSet<Socket>): () => boolean {
  let isKept = false;
  request.on('socket', (socket) => {
    isKept = usedBefore.has(socket);
    usedBefore.add(socket);
  });
  return () => isKept;
}
