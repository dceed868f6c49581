/* One message to and fro between two ranks, as osu_latency does it: the time of one way, and what it makes of bandwidth.
 *
 *   mpicc -O2 -o mpi-ping configs/programs/mpi-ping.c
 *   ./mpi-ping BYTES [ROUND_TRIPS]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void round_trip(int rank, char *message, int bytes) {
    if (rank == 0) {
        MPI_Send(message, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(message, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(message, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(message, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    int rank, ranks, i;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int bytes = argc > 1 ? atoi(argv[1]) : 1, round_trips = argc > 2 ? atoi(argv[2]) : 1000;
    if (ranks != 2 || bytes < 1 || round_trips < 1) {
        fprintf(stderr, "mpi-ping needs two ranks, not %d, and numbers above 0: mpi-ping BYTES [ROUND_TRIPS]\n", ranks);
        MPI_Finalize();
        return 2;
    }
    char *message = calloc(bytes, 1);
    for (i = 0; i < round_trips / 10 + 1; i++) round_trip(rank, message, bytes); /* warm up */
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (i = 0; i < round_trips; i++) round_trip(rank, message, bytes);
    double one_way_s = (MPI_Wtime() - start) / round_trips / 2;
    if (rank == 0) {
        printf("%d ranks, %d bytes, %d round trips\n", ranks, bytes, round_trips);
        printf("latency: %.6g us\n", one_way_s * 1e6);
        printf("bandwidth: %.6g MB/s\n", bytes / one_way_s / 1e6);
    }
    free(message);
    MPI_Finalize();
    return 0;
}
