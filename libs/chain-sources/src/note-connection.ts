import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Tracks the connection of a request. @returns a function: true if the connection was used before. Not
 * `reusedSocket`: Node reports a connection as new that another request has just released to this one while it
 * waited.
 * @param usedBefore connections that earlier requests used
 */
export function noteConnection(request: ClientRequest, usedBefore: WeakSet<Socket>): () => boolean {
  let isKept = false;
  request.on('socket', (socket) => {
    isKept = usedBefore.has(socket);
    usedBefore.add(socket);
  });
  return () => isKept;
}
