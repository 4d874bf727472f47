/** Who decided, and why. */
export interface Decided {
  readonly by: string;
  readonly reason: string;
}
