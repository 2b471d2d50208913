/** Whether nothing more can be had; never, where there is no quota. */
export function usedUp(used: number, most: number | null | undefined): boolean {
  return most != null && used >= most;
}
